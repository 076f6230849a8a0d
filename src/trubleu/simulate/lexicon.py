"""The words of the simulated world: topics with things, actions, places and adjectives, and their synonyms.

A line of words is a list with commas between meanings and ``=`` between the ways to say one. A doing has three forms
with ``/`` between them, as in *sing/sang/singing*. All ways to say a meaning fit the same places of a sentence: things
are singular and come after *the* or *my*, places bring their preposition along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator


INDOORS: Final = {
    "food": {
        "thing": "soup=broth, pizza=margherita, pancake=crepe, curry=masala, salad=coleslaw, omelette=frittata, "
        "sandwich=toastie, lasagne=pasta bake, stew=casserole, pie=quiche, dumpling=ravioli, sauce=gravy",
        "doing": "cook/cooked/cooking=make dinner/made dinner/making dinner, fry onions/fried onions/frying onions, "
        "chop vegetables/chopped vegetables/chopping vegetables=cut carrots/cut carrots/cutting carrots, "
        "eat out/ate out/eating out=dine out/dined out/dining out, grill sausages/grilled sausages/grilling "
        "sausages, boil potatoes/boiled potatoes/boiling potatoes, roast a chicken/roasted a "
        "chicken/roasting a chicken, try new recipes/tried new recipes/trying new recipes, order "
        "takeaway/ordered takeaway/ordering takeaway, wash the dishes/washed the dishes/washing the "
        "dishes=do the dishes/did the dishes/doing the dishes",
        "place": "in the kitchen=at the stove, at the market=in the market hall, at the diner=in the snack bar, at "
        "the italian place=in the trattoria, in the canteen=in the cafeteria, at the food truck, at the "
        "butcher's=in the butcher shop, at the greengrocer's, at the curry house, at the grill",
        "good": "tasty=delicious, spicy=well seasoned, crunchy=crispy, creamy=silky, filling=hearty",
        "bad": "salty=oversalted, burnt=charred, bland=tasteless, greasy=oily, undercooked=half raw",
    },
    "music": {
        "thing": "guitar=acoustic, piano=grand piano, violin=fiddle, album=record, concert=gig, drum kit=drum set, "
        "song=tune, trumpet=trombone, saxophone=sax, microphone=mic, playlist=mixtape, amplifier=amp",
        "doing": "sing/sang/singing=sing along/sang along/singing along, practise scales/practised scales/practising "
        "scales, write lyrics/wrote lyrics/writing lyrics, play jazz/played jazz/playing jazz=play "
        "blues/played blues/playing blues, jam with friends/jammed with friends/jamming with friends, strum "
        "chords/strummed chords/strumming chords, listen to vinyl/listened to vinyl/listening to vinyl, mix "
        "tracks/mixed tracks/mixing tracks, take singing lessons/took singing lessons/taking singing "
        "lessons, drum/drummed/drumming",
        "place": "in the rehearsal room=in the practice room, at the jazz club=in the blues bar, at the opera "
        "house=in the concert hall, at the music school=at the conservatory, in the choir, at the record "
        "store=in the vinyl shop, at the open mic night, on the bandstand, in the recording studio, at the "
        "rock festival=at the folk festival",
        "good": "catchy=melodic, groovy=funky, mellow=soulful, in tune=well tuned, rhythmic=full of rhythm",
        "bad": "out of tune=off key, too loud=deafening, monotone=droning, screechy=shrill, off beat=out of rhythm",
    },
    "films": {
        "thing": "film=movie, trailer=teaser, film poster=movie poster, dvd=blu ray, comedy=sitcom, thriller=crime "
        "drama, sequel=second part, series=tv show, documentary=docu, soundtrack=film score, episode=season "
        "finale, cartoon=animation",
        "doing": "watch films/watched films/watching films=watch movies/watched movies/watching movies, binge a "
        "series/binged a series/bingeing a series, stream shows/streamed shows/streaming shows, "
        "act/acted/acting, shoot a scene/shot a scene/shooting a scene, write reviews/wrote reviews/writing "
        "reviews, read subtitles/read subtitles/reading subtitles, attend a premiere/attended a "
        "premiere/attending a premiere, quote lines/quoted lines/quoting lines, eat popcorn/ate "
        "popcorn/eating popcorn",
        "place": "at the cinema=at the movies, on the couch=on the sofa, at the drive in, in the front row=in the "
        "back row, at the film festival, on the big screen, on the streaming site=on the streaming service, "
        "on the film set, at the film club, in the video store",
        "good": "gripping=suspenseful, hilarious=very funny, well acted=well cast, moving=touching, clever=full of "
        "twists",
        "bad": "predictable=full of cliches, badly acted=badly cast, too violent=gory, overrated=overhyped, drawn "
        "out=far too long",
    },
    "books": {
        "thing": "novel=book, audiobook=e book, chapter=last chapter, poem=sonnet, biography=memoir, "
        "paperback=pocket edition, fairy tale=fable, detective story=whodunit, ending=final page, comic "
        "book=graphic novel, bookmark=reading lamp, trilogy=saga",
        "doing": "read/read/reading=read novels/read novels/reading novels, borrow books/borrowed books/borrowing "
        "books, write poems/wrote poems/writing poems, turn pages/turned pages/turning pages, finish "
        "chapters/finished chapters/finishing chapters, reread classics/reread classics/rereading classics, "
        "swap paperbacks/swapped paperbacks/swapping paperbacks, discuss plots/discussed plots/discussing "
        "plots, browse shelves/browsed shelves/browsing shelves, read aloud/read aloud/reading aloud",
        "place": "in the library=in the reading room, at the bookshop=at the bookstore, in the book club=in the "
        "reading circle, in the armchair, at the book fair, in the second hand bookshop, at the poetry "
        "evening=at the poetry slam, on the bookshelf, at the author's reading, under the reading lamp",
        "good": "well written=beautifully written, a page turner=impossible to put down, poetic=lyrical, witty=full "
        "of wit, thought provoking=deep",
        "bad": "long winded=wordy, badly translated=clumsily translated, confusing=hard to follow, "
        "shallow=superficial, dry=dry as dust",
    },
    "computers": {
        "thing": "laptop=notebook, keyboard=mechanical keyboard, printer=scanner, password=login, monitor=display, "
        "browser=web browser, hard disk=hard drive, software=program, website=web page, router=modem, "
        "mouse=trackpad, server=data centre",
        "doing": "code/coded/coding=write code/wrote code/writing code, debug/debugged/debugging=fix bugs/fixed "
        "bugs/fixing bugs, install updates/installed updates/installing updates, back up files/backed up "
        "files/backing up files, reboot/rebooted/rebooting=restart/restarted/restarting, surf the "
        "web/surfed the web/surfing the web, type/typed/typing, download drivers/downloaded "
        "drivers/downloading drivers, build websites/built websites/building websites, learn python/learned "
        "python/learning python",
        "place": "at the computer=at the keyboard, in the cloud=on the drive, at the electronics store=at the "
        "computer shop, in the server room, on the network=on the wifi, at the hackathon, in the app store, "
        "on the command line=in the terminal window, in the settings=in the control panel, at the help desk",
        "good": "lightning fast=superfast, user friendly=intuitive, up to date=on the latest version, "
        "wireless=without cables, backed up=saved",
        "bad": "crashing=freezing, laggy=slow to load, hacked=full of viruses, offline=disconnected, buggy=full of "
        "bugs",
    },
    "clothes": {
        "thing": "dress=gown, jacket=blazer, pair of jeans=denim, coat=overcoat, sweater=pullover, hat=beanie, pair "
        "of boots=footwear, scarf=shawl, skirt=miniskirt, handbag=purse, suit=tuxedo, raincoat=parka",
        "doing": "go shopping/went shopping/going shopping=shop/shopped/shopping, try on shoes/tried on shoes/trying "
        "on shoes, iron shirts/ironed shirts/ironing shirts, knit/knitted/knitting, sew/sewed/sewing, do "
        "the laundry/did the laundry/doing the laundry, dress up/dressed up/dressing up, wear heels/wore "
        "heels/wearing heels, mend socks/mended socks/mending socks, match colours/matched colours/matching "
        "colours",
        "place": "at the boutique=in the fashion store, in the fitting room, in the wardrobe=in the closet, at the "
        "tailor's, at the sale=in the winter sale, on the catwalk=on the runway, at the thrift shop=at the "
        "flea market, at the mall, at the shoe shop, in the washing machine",
        "good": "stylish=elegant, comfy=comfortable to wear, in fashion=trendy, warm and soft=woolly, flattering=a "
        "perfect fit",
        "bad": "too tight=a size too small, baggy=a size too big, old fashioned=out of fashion, faded=washed out, "
        "itchy to wear=scratchy",
    },
    "school": {
        "thing": "exam=test, calculator=pocket calculator, essay=term paper, homework=assignment, lecture=seminar, "
        "maths class=algebra, grade=mark, textbook=schoolbook, timetable=schedule, diploma=degree, pencil "
        "case=pencil, spelling test=dictation",
        "doing": "study/studied/studying=learn/learned/learning, revise/revised/revising=cram/crammed/cramming, take "
        "notes/took notes/taking notes, skip class/skipped class/skipping class, solve equations/solved "
        "equations/solving equations, learn french/learned french/learning french, hand in essays/handed in "
        "essays/handing in essays, ask questions/asked questions/asking questions, "
        "graduate/graduated/graduating, sit in lectures/sat in lectures/sitting in lectures",
        "place": "at school=in class, at university=at college, on the campus, in the lecture hall=in the "
        "auditorium, in the classroom, in the schoolyard=on the playground, at the blackboard, in the study "
        "group, in the chemistry lab, in the principal's office",
        "good": "interesting=instructive, clear=well explained, graded fairly=marked fairly, up to date for the "
        "exam=exam ready, well taught=well prepared",
        "bad": "too theoretical=too abstract, failed=flunked, full of formulas=full of sums, overdue=past the "
        "deadline, badly explained=poorly taught",
    },
    "office": {
        "thing": "desk chair=office chair, meeting=conference call, project=assignment plan, deadline=due date, "
        "salary=pay rise, contract=agreement, interview=job interview, business card=name badge, "
        "presentation=slide show, promotion=new position, report=memo, internship=traineeship",
        "doing": "work late/worked late/working late=work overtime/worked overtime/working overtime, answer "
        "emails/answered emails/answering emails, work from home/worked from home/working from home, "
        "prepare slides/prepared slides/preparing slides, call clients/called clients/calling clients=phone "
        "customers/phoned customers/phoning customers, apply for jobs/applied for jobs/applying for jobs, "
        "negotiate/negotiated/negotiating, make copies/made copies/making copies, hire people/hired "
        "people/hiring people, plan budgets/planned budgets/planning budgets",
        "place": "at the office=at work, in the meeting room=in the conference room, at my desk=at my workplace, at "
        "the copier, at the coffee machine=by the water cooler, on the third floor, at head office=at "
        "headquarters, at the job fair, in the sales department, on the business trip",
        "good": "well paid=lucrative, permanent=for good, productive=efficient, flexible=with flexible hours, "
        "professional=businesslike",
        "bad": "underpaid=badly paid, stressful=full of stress, bureaucratic=full of paperwork, understaffed=short "
        "of staff, cancelled=called off",
    },
    "house": {
        "thing": "roof=attic, bathroom=shower, kitchen sink=tap, wardrobe door=cupboard, heater=radiator, "
        "carpet=rug, bookcase=shelf, lamp=ceiling light, staircase=stairs railing, washing line=drying "
        "rack, floor=parquet, doorbell=front door",
        "doing": "paint walls/painted walls/painting walls=put up wallpaper/put up wallpaper/putting up wallpaper, "
        "drill holes/drilled holes/drilling holes, clean up/cleaned up/cleaning up=tidy up/tidied "
        "up/tidying up, move house/moved house/moving house=move out/moved out/moving out, "
        "vacuum/vacuumed/vacuuming, assemble furniture/assembled furniture/assembling furniture, hammer "
        "nails/hammered nails/hammering nails, fix pipes/fixed pipes/fixing pipes, lay tiles/laid "
        "tiles/laying tiles, redecorate/redecorated/redecorating",
        "place": "in the living room=in the lounge, in the basement=in the cellar, at the hardware store=at the diy "
        "store, in the bedroom, in the hallway=in the corridor, upstairs=on the upper floor, at the "
        "furniture store, next to the chimney, in the new flat=in the new apartment, on the ladder",
        "good": "cosy=homely, freshly painted=newly painted, bright and airy=light, well insulated=energy saving, "
        "sturdy=solid",
        "bad": "leaking=dripping, draughty=cold and damp, squeaky=creaking, clogged=blocked, crooked=falling apart",
    },
    "painting": {
        "thing": "canvas=easel, watercolour=oil painting, brush=paintbrush, sketch=doodle, portrait=self portrait, "
        "sculpture=statue, gallery=art museum, palette=paint box, pottery bowl=clay vase, mural=fresco, "
        "still life=landscape, frame=picture frame",
        "doing": "paint/painted/painting=paint pictures/painted pictures/painting pictures, draw/drew/drawing, "
        "sketch faces/sketched faces/sketching faces, mix paint/mixed paint/mixing paint, carve wood/carved "
        "wood/carving wood, sculpt/sculpted/sculpting=make sculptures/made sculptures/making sculptures, "
        "take art classes/took art classes/taking art classes, frame pictures/framed pictures/framing "
        "pictures, shape clay/shaped clay/shaping clay, copy old masters/copied old masters/copying old "
        "masters",
        "place": "in the studio=in the atelier, at the art fair, at the art school=at the academy, in the pottery "
        "class, at the vernissage=at the opening night, on the easel, in the sculpture park, at the art "
        "supply store, in the drawing class, on the gallery wall",
        "good": "colourful=full of colour, expressive=full of feeling, detailed=rich in detail, original=one of a "
        "kind, lifelike=realistic",
        "bad": "smudged=blurred, kitschy=corny, pale=colourless, unfinished=only half done, badly framed=hung askew",
    },
    "gaming": {
        "thing": "console=joystick, level=boss fight, video game=computer game, controller=gamepad, high score=top "
        "score, quest=side quest, headset=gaming headset, avatar=game character, dungeon=secret level, "
        "shooter=strategy game, graphics card=gpu, expansion=add on",
        "doing": "game/gamed/gaming=play online/played online/playing online, level up/levelled up/levelling up, "
        "beat the boss/beat the boss/beating the boss, collect coins/collected coins/collecting coins, "
        "stream games/streamed games/streaming games, unlock skins/unlocked skins/unlocking skins, join a "
        "clan/joined a clan/joining a clan=join a guild/joined a guild/joining a guild, "
        "respawn/respawned/respawning, press buttons/pressed buttons/pressing buttons, "
        "speedrun/speedran/speedrunning",
        "place": "in the arcade=in the gaming hall, at the console=on the console, on the server=on the game server, "
        "at the lan party, on the last level=in the final world, in the multiplayer lobby, in the tutorial, "
        "in the game store, on the leaderboard=in the rankings, at the esports final",
        "good": "addictive=hard to stop playing, multiplayer=made for four players, open world=full of quests, "
        "immersive=like being inside, well designed=well balanced",
        "bad": "glitchy=full of glitches, pay to win=full of loot boxes, repetitive=all grinding, "
        "unplayable=impossible to beat, pixelated=badly rendered",
    },
    "photos": {
        "thing": "camera=slr, lens=zoom lens, photo=picture, tripod=camera stand, photo album=photo book, "
        "selfie=snapshot, flash=flashlight, filter=lens filter, memory card=sd card, darkroom=photo lab, "
        "film roll=negative, wedding photo=group photo",
        "doing": "take pictures/took pictures/taking pictures=take photos/took photos/taking photos, zoom in/zoomed "
        "in/zooming in, pose/posed/posing, edit photos/edited photos/editing photos=retouch "
        "pictures/retouched pictures/retouching pictures, develop film/developed film/developing film, "
        "focus/focused/focusing, post selfies/posted selfies/posting selfies, crop/cropped/cropping, print "
        "pictures/printed pictures/printing pictures, capture sunsets/captured sunsets/capturing sunsets",
        "place": "at the photo shop=at the camera store, in the photo studio, in front of the lens=in front of the "
        "camera, on my feed=on my profile, at the photo exhibition, at sunrise point, on the contact sheet, "
        "in the photo booth, at the wedding, on the tripod",
        "good": "sharp=in focus, well lit=perfectly lit, photogenic=good on camera, high resolution=full of "
        "megapixels, black and white=in sepia",
        "bad": "blurry=out of focus, underexposed=too dark, overexposed=too bright, grainy=noisy, badly cropped=cut "
        "off",
    },
    "party": {
        "thing": "birthday party=birthday, cocktail=punch, birthday cake=chocolate cake, present=gift, costume=fancy "
        "dress, dance floor=disco, disco light=disco ball, invitation=guest list, barbecue=garden party, "
        "balloon=confetti, champagne=sparkling wine, firework=sparkler",
        "doing": "dance/danced/dancing=boogie/boogied/boogieing, "
        "celebrate/celebrated/celebrating=party/partied/partying, blow out candles/blew out candles/blowing "
        "out candles, bake a cake/baked a cake/baking a cake, wrap presents/wrapped presents/wrapping "
        "presents=wrap gifts/wrapped gifts/wrapping gifts, mix drinks/mixed drinks/mixing drinks, invite "
        "guests/invited guests/inviting guests, do karaoke/did karaoke/doing karaoke, "
        "toast/toasted/toasting, stay up all night/stayed up all night/staying up all night",
        "place": "at the nightclub=at the club, on the dance floor, at the bar=at the counter, on the rooftop, at my "
        "aunt's, at the wedding party=at the reception hall, at the costume ball, at the karaoke bar, at "
        "the housewarming, on new year's eve",
        "good": "festive=beautifully decorated, lively=full of life, boozy=well stocked with drinks, well "
        "attended=packed with friends, wild and fun=crazy",
        "bad": "badly organised=a mess, awkward=full of strangers, out of drinks=without any drinks, too "
        "noisy=annoying the neighbours, over by ten=ending early",
    },
}


OUTDOORS: Final = {
    "football": {
        "thing": "match=derby, jersey=football shirt, trophy=cup, season ticket=fan card, football=leather ball, "
        "club scarf=fan scarf, team=squad, penalty=spot kick, replay=second leg, football boot=studded "
        "boot, goal net=goal post, captain's armband=armband",
        "doing": "score goals/scored goals/scoring goals, watch the derby/watched the derby/watching the derby, "
        "cheer for the team/cheered for the team/cheering for the team=support the team/supported the "
        "team/supporting the team, pass the ball/passed the ball/passing the ball, play five a side/played "
        "five a side/playing five a side, dribble/dribbled/dribbling, take corners/took corners/taking "
        "corners, train the juniors/trained the juniors/training the juniors, head the ball/headed the "
        "ball/heading the ball, tackle/tackled/tackling",
        "place": "at the stadium=in the arena, on the pitch=on the grass pitch, in the stands=in the fan block, at "
        "the training ground, at the away game, in the penalty area, on the bench=on the substitutes' "
        "bench, at the sports bar=in the fan pub, in the dressing room=in the changing room, at the cup "
        "final",
        "good": "unbeaten=undefeated, full of goals=high scoring, offensive=attacking, world class=top class, "
        "sporting=fair",
        "bad": "goalless=without a goal, second rate=second division, unfair=full of fouls, relegated=sent down, "
        "defensive=far too defensive",
    },
    "travel": {
        "thing": "flight=plane, hotel=guest house, suitcase=luggage, passport=visa, train ticket=rail pass, "
        "island=isle, beach=seashore, museum=exhibition, guidebook=travel guide, souvenir=postcard, "
        "hostel=youth hostel, cruise=ferry trip",
        "doing": "travel/travelled/travelling=go abroad/went abroad/going abroad, pack bags/packed bags/packing "
        "bags, tour the sights/toured the sights/touring the sights=go sightseeing/went sightseeing/going "
        "sightseeing, book a room/booked a room/booking a room, fly south/flew south/flying south, lie in "
        "the sun/lay in the sun/lying in the sun=sunbathe/sunbathed/sunbathing, "
        "hitchhike/hitchhiked/hitchhiking, learn the language/learned the language/learning the language, "
        "explore old towns/explored old towns/exploring old towns, take the night train/took the night "
        "train/taking the night train",
        "place": "at the airport=in the terminal, at the seaside=by the sea, in the old town=in the historic centre, "
        "at the border, on the platform, in lisbon=in portugal, at the travel agency, in the lobby=at the "
        "reception, on the promenade, in rome=in italy",
        "good": "sunny=full of sunshine, scenic=picturesque, welcoming=hospitable, exotic=far from home, all "
        "inclusive=with breakfast included",
        "bad": "delayed=five hours late, overcrowded=full of tourists, overbooked=fully booked, lost on the way=lost "
        "in transit, touristy=a tourist trap",
    },
    "garden": {
        "thing": "tomato plant=tomato, rose bush=rose, lawn=grass, greenhouse=hothouse, hedge=bush, apple tree=fruit "
        "tree, compost heap=compost, flower bed=tulip bed, watering can=garden hose, lawn mower=mower, "
        "pumpkin=squash, herb bed=basil",
        "doing": "garden/gardened/gardening, water the plants/watered the plants/watering the plants=water the "
        "flowers/watered the flowers/watering the flowers, pull weeds/pulled weeds/pulling "
        "weeds=weed/weeded/weeding, plant seeds/planted seeds/planting seeds=sow seeds/sowed seeds/sowing "
        "seeds, mow/mowed/mowing, prune trees/pruned trees/pruning trees, dig/dug/digging, rake "
        "leaves/raked leaves/raking leaves, pick berries/picked berries/picking berries, grow herbs/grew "
        "herbs/growing herbs",
        "place": "in the garden=in the back yard, on the balcony=on the terrace, in the allotment, at the garden "
        "centre=at the plant nursery, in the shed=in the tool shed, behind the fence, in the vegetable "
        "patch, by the pond, in the orchard, under the apple trees",
        "good": "in bloom=blossoming, ripe=ready to pick, green=lush, fragrant=sweet smelling, sprouting=growing well",
        "bad": "withered=wilted, full of weeds=overgrown, rotten=mouldy, full of slugs=eaten by snails, dried "
        "out=thirsty",
    },
    "pets": {
        "thing": "puppy=dog, kitten=cat, parrot=budgie, poodle=terrier, rabbit=bunny, hamster=guinea pig, "
        "goldfish=fish, canary=cockatoo, lizard=gecko, ferret=gerbil, turtle=tortoise, pony=foal",
        "doing": "walk the dog/walked the dog/walking the dog, feed the cat/fed the cat/feeding the cat, "
        "bark/barked/barking, purr/purred/purring, fetch sticks/fetched sticks/fetching sticks, brush "
        "fur/brushed fur/brushing fur, cuddle/cuddled/cuddling=snuggle/snuggled/snuggling, chase "
        "mice/chased mice/chasing mice, clean the cage/cleaned the cage/cleaning the cage, train "
        "puppies/trained puppies/training puppies=teach tricks/taught tricks/teaching tricks",
        "place": "at the dog park=on the dog meadow, at the pet shop=at the pet store, in the kennel=in the dog "
        "house, at the animal shelter=at the rescue home, in the aquarium, on the scratching post, in the "
        "stable, in the cage, at the vet's, on the farm",
        "good": "fluffy=furry, cuddly=cute, loyal=faithful, house trained=well behaved, playful=frisky",
        "bad": "full of fleas=itchy, naughty=disobedient, always hungry=eating too much, scratching the sofa=clawing "
        "everything, chewing shoes=biting everything",
    },
    "cars": {
        "thing": "car=automobile, engine=motor, tyre=wheel, garage=repair shop, van=truck, driving licence=driving "
        "test, battery=alternator, brake=handbrake, gearbox=clutch, windscreen=windshield, "
        "motorbike=motorcycle, convertible=cabriolet",
        "doing": "drive/drove/driving=go for a drive/went for a drive/going for a drive, park/parked/parking, change "
        "tyres/changed tyres/changing tyres, wash the car/washed the car/washing the car, fill the "
        "tank/filled the tank/filling the tank=refuel/refuelled/refuelling, overtake/overtook/overtaking, "
        "change gears/changed gears/changing gears, check the oil/checked the oil/checking the oil, take "
        "driving lessons/took driving lessons/taking driving lessons, wait in traffic/waited in "
        "traffic/waiting in traffic=sit in a jam/sat in a jam/sitting in a jam",
        "place": "on the motorway=on the highway, at the petrol station=at the gas station, in the car park=in the "
        "parking lot, at the dealer's=at the car dealer, at the mechanic's, at the traffic lights, in the "
        "fast lane, in the driver's seat=behind the wheel, at the race track, at the roundabout",
        "good": "electric=battery powered, economical=cheap to run, roomy=spacious, powerful=strong, roadworthy=safe "
        "to drive",
        "bad": "rusty=full of rust, dented=scratched, thirsty for petrol=using too much petrol, broken down=stalled, "
        "hard to park=too wide",
    },
    "cycling": {
        "thing": "bike=bicycle, helmet=bike helmet, saddle=bike seat, chain=bike chain, pump=air pump, mountain "
        "bike=downhill bike, bike lane=cycle path, pannier=bike bag, bell=bike bell, handlebar=front fork, "
        "pedal=crank, bike lock=padlock",
        "doing": "cycle/cycled/cycling=go by bike/went by bike/going by bike, pedal uphill/pedalled uphill/pedalling "
        "uphill, patch tubes/patched tubes/patching tubes, pump up tyres/pumped up tyres/pumping up tyres, "
        "oil the chain/oiled the chain/oiling the chain, commute by bike/commuted by bike/commuting by "
        "bike, race downhill/raced downhill/racing downhill, brake hard/braked hard/braking hard, tour the "
        "coast/toured the coast/touring the coast, shift down/shifted down/shifting down",
        "place": "on the bike path=on the cycle track, at the bike shop=at the cycle shop, on the hill=on the climb, "
        "along the river, at the finish line, in the velodrome, in the bike cellar=at the bike rack, at the "
        "tour stage, on the gravel road, over the pass",
        "good": "aerodynamic=streamlined, freshly oiled=running smoothly, uphill capable=good on hills, "
        "lightweight=light as a feather, puncture proof=hard to puncture",
        "bad": "punctured=flat, wobbly=out of true, stolen from the rack=nicked, hard on the knees=tough on the "
        "legs, rattling=clattering",
    },
    "hiking": {
        "thing": "tent=bivouac, backpack=rucksack, trail=footpath, sleeping bag=camping mat, mountain=summit, "
        "campfire=camp stove, compass=hiking map, mountain hut=refuge, waterfall=gorge, walking "
        "stick=trekking pole, torch=headlamp, picnic=trail mix",
        "doing": "hike/hiked/hiking=go hiking/went hiking/going hiking, climb/climbed/climbing, "
        "camp/camped/camping=sleep outdoors/slept outdoors/sleeping outdoors, pitch tents/pitched "
        "tents/pitching tents, light a fire/lit a fire/lighting a fire, follow the trail/followed the "
        "trail/following the trail, roast marshmallows/roasted marshmallows/roasting marshmallows, cross "
        "streams/crossed streams/crossing streams, watch birds/watched birds/watching birds, gather "
        "mushrooms/gathered mushrooms/gathering mushrooms",
        "place": "in the forest=in the woods, at the campsite=on the campground, on the peak=at the top, in the "
        "valley, by the lake=on the lake shore, in the national park=in the nature reserve, at the lookout, "
        "on the ridge, in the hut, at the spring",
        "good": "waterproof=rainproof, breathtaking=with a stunning view, well marked=well signposted, peaceful=far "
        "from the crowds, unspoilt=wild",
        "bad": "muddy=full of mud, steep=far too steep, full of mosquitoes=full of midges, slippery=icy in places, "
        "soaked=wet through",
    },
    "fitness": {
        "thing": "gym=fitness studio, treadmill=exercise bike, workout=training session, marathon=half marathon, "
        "yoga mat=yoga class, gym bag=sports bag, barbell=dumbbell, protein shake=energy bar, running "
        "shoe=trainer, swimming pool=lap pool, diet=meal plan, muscle=biceps",
        "doing": "work out/worked out/working out=exercise/exercised/exercising, jog/jogged/jogging=go running/went "
        "running/going running, lift weights/lifted weights/lifting weights, swim laps/swam laps/swimming "
        "laps, stretch/stretched/stretching, do yoga/did yoga/doing yoga=do pilates/did pilates/doing "
        "pilates, lose weight/lost weight/losing weight, sweat/sweated/sweating, do push ups/did push "
        "ups/doing push ups=do sit ups/did sit ups/doing sit ups, count calories/counted calories/counting "
        "calories",
        "place": "at the gym=in the weight room, on the treadmill, in the pool=in the swimming hall, on the running "
        "track, in the sauna, at the yoga studio, in the spinning class=in the aerobics class, in the "
        "locker room, at the marathon start, in the boot camp",
        "good": "healthy=good for the back, energising=full of energy, motivating=a real boost, low fat=sugar free, "
        "in shape=fit",
        "bad": "exhausting=tiring, painful=hurting, sweaty=drenched in sweat, out of breath=breathless, bad for the "
        "knees=hard on the joints",
    },
    "sailing": {
        "thing": "boat=sailing boat, mast=jib, anchor=mooring, harbour=marina, life jacket=life vest, rudder=tiller, "
        "regatta=boat race, rope=sheet, kayak=canoe, lighthouse=beacon, surfboard=paddle board, fishing "
        "rod=fishing net",
        "doing": "sail/sailed/sailing=go sailing/went sailing/going sailing, row/rowed/rowing, tie knots/tied "
        "knots/tying knots, dive/dived/diving=snorkel/snorkelled/snorkelling, catch fish/caught "
        "fish/catching fish=go fishing/went fishing/going fishing, steer/steered/steering, drop "
        "anchor/dropped anchor/dropping anchor, paddle/paddled/paddling, ride the waves/rode the "
        "waves/riding the waves=surf waves/surfed waves/surfing waves, hoist the sail/hoisted the "
        "sail/hoisting the sail",
        "place": "in the bay=in the cove, on deck=on board, at the pier=on the jetty, on the open sea=on the high "
        "seas, in the harbour=in the marina basin, at the yacht club, in the cabin=below deck, on the reef, "
        "at the boat rental, off the coast",
        "good": "seaworthy=fit for the sea, windy enough=in a fair wind, freshly varnished=newly varnished, calm as "
        "a pond=smooth as glass, buoyant=unsinkable",
        "bad": "stormy=rough, badly anchored=adrift, capsized=upside down, becalmed=without any wind, "
        "waterlogged=taking on water",
    },
    "snow": {
        "thing": "pair of skis=ski set, snowboard=board, sledge=toboggan, ski lift=chair lift, slope=piste, "
        "snowman=igloo, ski pass=lift pass, ski boot=binding, glove=mitten, ice rink=skating rink, ski "
        "suit=ski jacket, pair of skates=ice skate",
        "doing": "ski/skied/skiing=go skiing/went skiing/going skiing, go snowboarding/went snowboarding/going "
        "snowboarding, skate/skated/skating, throw snowballs/threw snowballs/throwing snowballs, shovel "
        "snow/shovelled snow/shovelling snow, go sledging/went sledging/going sledging=go tobogganing/went "
        "tobogganing/going tobogganing, wax skis/waxed skis/waxing skis, carve turns/carved turns/carving "
        "turns, build a snowman/built a snowman/building a snowman, fall off the lift/fell off the "
        "lift/falling off the lift",
        "place": "on the slopes=on the piste, at the ski resort=in the ski village, on the ice, in the chalet, at "
        "the valley station=at the lift station, in the powder snow, on the nursery slope, on the glacier, "
        "at the ski school, in the snow park",
        "good": "snowy=covered in snow, freshly groomed=well groomed, powdery=full of powder, frosty=crisp and cold, "
        "snow safe=sure of snow",
        "bad": "icy=frozen over, slushy=melting, foggy=lost in fog, closed by avalanche=buried, freezing cold=ice cold",
    },
    "stars": {
        "thing": "telescope=binoculars set, planet=saturn, comet=meteor, rocket=spaceship, eclipse=lunar eclipse, "
        "moon=full moon, galaxy=milky way, constellation=star sign, satellite=space station, space "
        "suit=space helmet, star map=star chart, meteor shower=shooting star",
        "doing": "watch the stars/watched the stars/watching the stars=stargaze/stargazed/stargazing, look for "
        "comets/looked for comets/looking for comets, study planets/studied planets/studying planets, make "
        "a wish/made a wish/making a wish, launch rockets/launched rockets/launching rockets, orbit the "
        "earth/orbited the earth/orbiting the earth, land on mars/landed on mars/landing on mars, count "
        "meteors/counted meteors/counting meteors, spot the north star/spotted the north star/spotting the "
        "north star, map galaxies/mapped galaxies/mapping galaxies",
        "place": "in the night sky=in the sky, at the observatory=at the planetarium, in orbit=in space, on mars=on "
        "jupiter, at the launch pad, in the milky way, on the dark side, at mission control, above the "
        "horizon, in the space museum",
        "good": "starry=full of stars, glowing=luminous, light years away=out of this world, visible to the naked "
        "eye=clearly visible, cosmic=celestial",
        "bad": "cloudy=hidden by clouds, light polluted=too close to the city, too faint=barely visible, below the "
        "horizon=already set, out of orbit=lost in space",
    },
}


Kind: TypeAlias = Literal["thing", "doing", "place", "good", "bad", "praise", "blame", "name", "time"]

FORMS: Final = 3
"""Of a doing: *sing*, *sang*, *singing*."""

_NAMES: Final = (
    "anna, ben, carla, david, emma, felix, grace, henry, ivy, jack, kate, leo, maria, nick, olga, peter, quinn, rosa, "
    "sam, tina, umar, vera, wendy, yara, zoe, aisha, bruno, chloe, dan, ella"
)  # fmt: skip
_TIMES: Final = (
    "on monday, on tuesday, on wednesday, on thursday, on friday, on saturday, on sunday, tomorrow, tonight, "
    "next week, next month, at noon, at eight, at half past seven, this weekend=at the weekend, in the morning, "
    "in the evening, after lunch, in an hour, in may, in june, in autumn, at six, around nine"
)  # fmt: skip

_PRAISE: Final = (
    "great=brilliant, beautiful=lovely, cheap=affordable, perfect=ideal, special=unique, worth it=worth every penny, "
    "better than i thought=better than expected, fantastic=superb, really good=very good, the best=my favourite"
)  # fmt: skip
_BLAME: Final = (
    "awful=terrible, expensive=overpriced, boring=dull, disappointing=a let down, annoying=a pain, useless=no good, "
    "a waste of money=a waste of time, worse than before=getting worse, ugly=not pretty, strange=weird"
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Concept:
    """A meaning that has words.

    Attributes
    ----------
    topic
        What it belongs to; None for what belongs to all topics, such as names.
    kind
        Which places of a sentence it fits.
    ways
        The ways to say it, each with its forms: three for doings, one for all others.
    """

    topic: str | None
    kind: Kind
    ways: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """The first form of the first way to say it."""
        return self.ways[0][0]


@cache
def topics() -> dict[str, dict[Kind, tuple[Concept, ...]]]:
    """Return the meanings of every topic by their kind.

    Examples
    --------
    >>> topics()["music"]["thing"][0].ways
    (('guitar',), ('acoustic',))
    """
    return {
        topic: {kind: _concepts(topic, kind, line) for kind, line in cast("dict[Kind, str]", lines).items()}
        for topic, lines in (INDOORS | OUTDOORS).items()
    }


@cache
def general() -> dict[Kind, tuple[Concept, ...]]:
    """Return the meanings that belong to no topic by their kind: names, times, and words of praise and blame."""
    lines: dict[Kind, str] = {"name": _NAMES, "time": _TIMES, "praise": _PRAISE, "blame": _BLAME}
    return {kind: _concepts(None, kind, line) for kind, line in lines.items()}


def concepts() -> Iterator[Concept]:
    """Yield all meanings there are."""
    for kinds in (*topics().values(), general()):
        for each in kinds.values():
            yield from each


def _concepts(topic: str | None, kind: Kind, line: str) -> tuple[Concept, ...]:
    return tuple(
        Concept(topic, kind, tuple(tuple(form.strip() for form in way.split("/")) for way in meaning.split("=")))
        for meaning in line.split(",")
    )
